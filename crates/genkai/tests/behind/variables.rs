//! nginx whose servers variables name: a backend that is given takes their place, or it is told that it does not.

use crate::harness::servers::{free, scripted};
use crate::harness::{genkai, machine, run as run_of};

/// Nobody listens there.
const NOBODY: &str = "127.0.0.1:9";

#[test]
fn a_backend_takes_the_place_of_what_variables_name() {
    let _machine = machine();
    let (_server, server) = scripted("fixed --time 0.002");
    let [port] = free();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nginx.conf");
    let text = format!(
        "events {{ worker_connections 512; }}\nhttp {{\nmap $host $m {{ default {NOBODY}; }}\nmap $arg_x $g {{ 1 grp; default {NOBODY}; }}\n\
         upstream grp {{ server {NOBODY}; }}\nserver {{\nlisten 127.0.0.1:{port};\nlocation /a {{ set $up {NOBODY}; proxy_pass http://$up; \
         }}\nlocation /b {{ set $up {NOBODY}; proxy_pass http://$up$request_uri; }}\nlocation ~ ^/c {{ proxy_pass http://$m/c; }}\nlocation /d \
         {{ proxy_pass http://$g; }}\nlocation /e {{ set $to http://{NOBODY}/e; proxy_pass $to; }}\nlocation /f {{ proxy_pass http://$arg_up; \
         }}\n}}\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let said =
        format!("`proxy_pass http://$arg_up` at {}:13 is not replaced by the backend that was given", file.display());
    let asked = |path: &str| {
        let load = "tune nginx --users 4 --spawn-rate 4 --hold 1s --quick --pairs 0 --bisect 1s --quiet";
        let mut tune = genkai(load);
        tune.args(["--path", path, "--backend", &format!("http://{server}"), "--config"]).arg(&file);
        run_of(&tune)
    };
    for path in ["/a", "/b?x=1", "/c", "/d", "/e"] {
        let run = asked(path);
        assert_eq!(run.code, Some(0), "{path}: {}", run.story());
        let record = std::fs::read_to_string(run.out.join("run.jsonl")).unwrap();
        assert!(record.contains(&said), "{path}: {}", run.story());
    }
    let run = asked(&format!("/f?up={NOBODY}"));
    assert_ne!(run.code, Some(0), "{}", run.story());
}
