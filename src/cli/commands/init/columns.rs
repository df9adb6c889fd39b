//! Which column of a list is which field, by what columns are usually called.

use crate::source::snake;

/// Fields with the names that columns for them have in the languages of the reports, in the form of a template's variable; the first
/// that is there wins.
pub(super) const NAMES: &[(&str, &[&str])] = &[
    (
        "employee_id",
        &[
            "employee_id",
            "employee_no",
            "employee_number",
            "employee_code",
            "staff_id",
            "staff_no",
            "staff_number",
            "personnel_number",
            "personnel_no",
            "payroll_number",
            "payroll_no",
            "person_id",
            "emp_id",
            "emp_no",
            "worker_id",
            "personalnummer",
            "personal_nr",
            "personalnr",
            "pers_nr",
            "mitarbeiternummer",
            "mitarbeiter_nr",
            "matricule",
            "numéro_de_matricule",
            "número_de_empleado",
            "nº_empleado",
            "nº_de_empleado",
            "numero_de_empleado",
            "legajo",
            "personeelsnummer",
            "personeelsnr",
            "medewerkernummer",
            "number",
            "no",
            "nr",
            "id",
        ],
    ),
    (
        "email",
        &[
            "email",
            "e_mail",
            "email_address",
            "e_mail_address",
            "work_email",
            "work_e_mail",
            "company_email",
            "mail",
            "business_email",
            "e_mail_adresse",
            "email_adresse",
            "mailadresse",
            "courriel",
            "adresse_e_mail",
            "adresse_email",
            "adresse_mail",
            "correo_electrónico",
            "correo_electronico",
            "correo",
            "e_mailadres",
            "emailadres",
        ],
    ),
    (
        "title",
        &[
            "job_title",
            "title",
            "position",
            "position_title",
            "role",
            "funktion",
            "stellenbezeichnung",
            "berufsbezeichnung",
            "fonction",
            "poste",
            "puesto",
            "cargo",
            "functie",
            "functienaam",
        ],
    ),
    (
        "altname",
        &["preferred_name", "known_as", "altname", "nickname", "rufname", "prénom_usuel", "prenom_usuel", "roepnaam"],
    ),
    (
        "phone",
        &[
            "phone",
            "work_phone",
            "telephone",
            "phone_number",
            "business_phone",
            "tel",
            "telefon",
            "telefonnummer",
            "téléphone",
            "teléfono",
            "telefono",
            "telefoon",
            "telefoonnummer",
        ],
    ),
    (
        "mobile",
        &[
            "mobile",
            "mobile_phone",
            "cell",
            "cell_phone",
            "mobile_number",
            "mobil",
            "mobiltelefon",
            "mobilnummer",
            "handy",
            "handynummer",
            "portable",
            "téléphone_portable",
            "telephone_portable",
            "móvil",
            "movil",
            "celular",
            "mobiel",
            "gsm",
        ],
    ),
    (
        "ice",
        &[
            "ice",
            "emergency_phone",
            "emergency_contact_number",
            "emergency_contact_phone",
            "emergency_contact",
            "notfallkontakt",
            "notfallnummer",
            "contacto_de_emergencia",
            "noodcontact",
            "noodnummer",
        ],
    ),
    (
        "location",
        &[
            "location",
            "site",
            "office",
            "work_location",
            "home_location",
            "building",
            "standort",
            "dienstort",
            "arbeitsort",
            "lieu_de_travail",
            "bureau",
            "sede",
            "centro_de_trabajo",
            "vestiging",
            "locatie",
            "standplaats",
        ],
    ),
];

const FULL_NAME: &[&str] = &[
    "full_name",
    "name",
    "display_name",
    "employee_name",
    "legal_name",
    "nom_complet",
    "nom",
    "nombre_completo",
    "nombre_y_apellidos",
    "nombre",
    "volledige_naam",
    "naam",
];

/// What columns of first and of last names are called, by language: "Name" is the last one beside "Vorname", and a whole one alone.
const NAME_IN_TWO: &[(&[&str], &[&str])] = &[
    (
        &["first_name", "given_name", "forename", "firstname", "first"],
        &["last_name", "surname", "family_name", "lastname", "last"],
    ),
    (&["vorname", "vornamen"], &["nachname", "familienname", "zuname", "name"]),
    (&["prénom", "prenom", "prénoms"], &["nom_de_famille", "nom"]),
    (&["nombre", "nombres"], &["apellidos", "apellido"]),
    (&["voornaam", "roepnaam"], &["achternaam", "familienaam", "naam"]),
];

/// The columns of what stands between Dutch first and last names: "van der".
const NAME_PREFIX: &[&str] = &["tussenvoegsel", "tussenvoegsels", "voorvoegsel", "voorvoegsels"];

/// The columns of a file by the names that templates know them under.
pub(super) struct Columns<'a> {
    all: Vec<(&'a str, String)>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(columns: &'a [String]) -> Self {
        Self { all: columns.iter().map(|column| (column.as_str(), snake(column))).collect() }
    }

    /// The template that shows a column: by its plain name where that is one, else as it is in the file.
    fn template(&self, name: &str) -> Option<String> {
        let hits: Vec<&str> = self.all.iter().filter(|(_, known)| known == name).map(|(column, _)| *column).collect();
        match hits.as_slice() {
            [] => None,
            [_] if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => Some(name.to_owned()),
            [column, ..] => Some(format!("source[{column:?}]")),
        }
    }

    fn any_of(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.template(name))
    }

    pub(super) fn first(&self, names: &[&str]) -> Option<String> {
        self.any_of(names).map(|name| format!("{{{{ {name} }}}}"))
    }

    pub(super) fn name(&self) -> Option<String> {
        let in_two = |(first, last): &(&[&str], &[&str])| Some((self.any_of(first)?, self.any_of(last)?));
        match NAME_IN_TWO.iter().find_map(in_two) {
            Some((first, last)) => Some(match self.any_of(NAME_PREFIX) {
                Some(prefix) => format!("{{{{ [ {first} , {prefix} , {last} ] | join(' ') | squeeze }}}}"),
                None => format!("{{{{ {first} }}}} {{{{ {last} }}}}"),
            }),
            None => self.first(FULL_NAME),
        }
    }

    pub(super) fn unused<'b>(&self, templates: impl Iterator<Item = &'b str>) -> Vec<&'a str> {
        let templates: Vec<&str> = templates.collect();
        let used = |column: &str, name: &str| {
            let plain = format!(" {name} ");
            let verbatim = format!("source[{column:?}]");
            templates.iter().any(|template| template.contains(&plain) || template.contains(&verbatim))
        };
        self.all.iter().filter(|(column, name)| !used(column, name)).map(|(column, _)| *column).collect()
    }
}
