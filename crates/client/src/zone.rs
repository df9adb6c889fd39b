//! The time zones in which the service writes times.

use std::fmt;

/// The zones of the specification and their names, in its order.
macro_rules! zones {
    ($($zone:ident $name:literal),+ $(,)?) => {
        /// A zone that `time_zone` may name (specification, Common behaviour).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum TimeZone {
            #[default]
            $(#[doc = concat!("`", $name, "`.")] $zone),+
        }

        impl TimeZone {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$zone),+];

            /// Its name, in the case that the service asks for.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$zone => $name),+
                }
            }
        }
    };
}

zones! {
    Utc "UTC",
    AfricaAlgiers "Africa/Algiers", AfricaCairo "Africa/Cairo", AfricaJohannesburg "Africa/Johannesburg",
    AfricaLagos "Africa/Lagos", AfricaNairobi "Africa/Nairobi",
    AmericaNewYork "America/New_York", AmericaChicago "America/Chicago", AmericaDenver "America/Denver",
    AmericaLosAngeles "America/Los_Angeles", AmericaToronto "America/Toronto", AmericaMexicoCity "America/Mexico_City",
    AmericaSaoPaulo "America/Sao_Paulo", AmericaBuenosAires "America/Argentina/Buenos_Aires",
    AsiaKolkata "Asia/Kolkata", AsiaDubai "Asia/Dubai", AsiaTokyo "Asia/Tokyo", AsiaShanghai "Asia/Shanghai",
    AsiaHongKong "Asia/Hong_Kong", AsiaSingapore "Asia/Singapore", AsiaSeoul "Asia/Seoul", AsiaBangkok "Asia/Bangkok",
    AustraliaSydney "Australia/Sydney", AustraliaMelbourne "Australia/Melbourne",
    AustraliaBrisbane "Australia/Brisbane", AustraliaPerth "Australia/Perth",
    EuropeLondon "Europe/London", EuropeBerlin "Europe/Berlin", EuropeParis "Europe/Paris",
    EuropeMoscow "Europe/Moscow", EuropeIstanbul "Europe/Istanbul", EuropeRome "Europe/Rome",
    PacificAuckland "Pacific/Auckland", PacificFiji "Pacific/Fiji", PacificHonolulu "Pacific/Honolulu",
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
