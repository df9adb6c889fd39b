//! `rosterd init entra`: a first configuration for a tenant of Microsoft Entra ID, which asks nothing: what a tenant shows
//! depends on the app registration, and `check` tells.

use super::common::{HEAD, TAIL, time_zone};
use crate::cli::ui::{Exit, Ui};

const ABOUT: &str = "# A first configuration for Microsoft Entra ID. In the tenant: register an app, give it the application permission\n\
     # User.Read.All of Microsoft Graph (and GroupMember.Read.All where groups are named), have an administrator consent, and\n\
     # make a client secret or upload a certificate.\n";

const JOB: &str = "match_on = [\"employee_id\", \"email\"]   # how people who are at the service already are found\n\
     # key = \"{{ id }}\"                  # identifies a user for ever\n\
     # Who does not count: disabled accounts and guests. Look at `rosterd preview entra` before you go on: shared mailboxes and\n\
     # accounts of services are users too. Name what they have, not what people have: who has lost a value has not left.\n\
     include = \"{{ account_enabled != 'false' and user_type != 'Guest' }}\"\n\
     writes = \"approve\"                  # every change waits for an approval; then \"auto\"\n\n";

const SOURCE: &str = "[job.source]\n\
     type = \"entra\"\n\
     tenant = \"…\"                       # its id, or a domain such as example.onmicrosoft.com\n\
     client_id = \"…\"                    # the application (client) id of the app registration\n\
     client_secret_file = \"entra-secret\"\n\
     # certificate_file = \"app.pem\"      # or a certificate and its key, in place of the secret\n\
     # key_file = \"app.key\"\n\
     # groups = [\"Staff\"]                # only their members, nested groups included\n\
     optional = [\"employeeId\", \"jobTitle\", \"mobilePhone\", \"officeLocation\"]   # without it, the run stops if all lack one\n\n";

const MAP: &str = "[job.map]\n\
     name = \"{{ display_name }}\"\n\
     email = \"{{ mail | lower }}\"\n\
     employee_id = \"{{ employee_id }}\"\n\
     title = \"{{ job_title }}\"\n\
     mobile = \"{{ mobile_phone }}\"\n\
     location = \"{{ office_location }}\"\n\
     # photo = \"{{ photo }}\"             # asks for twenty users at once; put photo into `optional` if no one has one\n\
     # title = \"{{ extension_attribute1 }}\"   # extension attributes are called so; the manager's mail is {{ manager }}\n";

pub(super) fn run(ui: &Ui) -> Exit {
    let zone = time_zone();
    let configuration = format!(
        "{ABOUT}{HEAD}name = \"entra\"\ntarget = \"staff\"\nschedule = \"*/30 * * * *\"\n{zone}{JOB}{SOURCE}{MAP}{TAIL}"
    );
    if ui.json {
        ui.document(&serde_json::json!({ "version": 1, "configuration": configuration }));
    } else {
        ui.line(configuration.trim_end());
    }
    Exit::Done
}
