//! What the tests of runs share.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::config::{self, Config, Needs};

/// The configuration of one job in a folder, which reads `staff.csv` there and matches people by `match_on`; `guard` are
/// its limits. No service answers at its address.
pub(crate) fn config(dir: &Path, match_on: &str, guard: &str) -> Config {
    let put = |name: &str, text: &str| {
        fs::write(dir.join(name), text).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    put("key", "none");
    let text = format!(
        "[api]\nbase_url = \"http://127.0.0.1:9\"\napi_key_file = \"key\"\n[state]\ndir = \"state\"\n\
         [[job]]\nname = \"staff\"\ntarget = \"staff\"\nkey = \"{{{{ no }}}}\"\nmatch_on = [{match_on}]\n\
         [job.source]\ntype = \"csv\"\npath = \"staff.csv\"\nsettle = \"0s\"\n\
         [job.map]\nname = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\nemployee_id = \"{{{{ no }}}}\"\n[job.guard]\n{guard}"
    );
    put("config.toml", &text);
    config::load(&dir.join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap()
}
