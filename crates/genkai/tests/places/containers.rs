//! A load made in containers by a real podman.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};

use crate::harness::loads::show;
use crate::harness::servers::{Guard, free, nginx};
use crate::harness::{genkai, machine, until};

/// podman with a store of its own, and an image that holds genkai and the libraries it is linked to.
struct Podman {
    dir: tempfile::TempDir,
}

const LONGEST: Duration = Duration::from_secs(30);

const IMAGE: &str = "localhost/genkai:test";

impl Podman {
    /// The command that is podman here: runc, which runs in both kinds of control groups; a store without mounts.
    fn words(&self) -> String {
        let dir = self.dir.path().display();
        format!(
            "env CONTAINERS_CONF={dir}/containers.conf podman --root {dir}/root --runroot {dir}/run --storage-driver vfs --runtime runc"
        )
    }

    fn command(&self, words: &str) -> Command {
        let all = format!("{} {words}", self.words());
        let mut all = all.split_whitespace();
        let mut command = Command::new(all.next().unwrap());
        command.args(all).stdin(Stdio::null());
        command
    }

    fn start() -> Podman {
        // Not in the folder for what is temporary: the paths of its sockets would be too long there.
        let podman = Podman { dir: tempfile::Builder::new().prefix("gkp").tempdir_in("/tmp").unwrap() };
        let dir = podman.dir.path();
        // What it would ask for by itself is more than root may have here.
        let config = "[containers]\ndefault_ulimits=[\"nofile=1024:1024\",\"nproc=512:512\"]\n[engine]\ncgroup_manager=\"cgroupfs\"\n";
        std::fs::write(dir.join("containers.conf"), config).unwrap();
        let tree = dir.join("tree");
        let program = tree.join("genkai");
        std::fs::create_dir(&tree).unwrap();
        let strip = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_genkai")).status();
        assert!(strip.unwrap().success());
        for library in libraries(Path::new(env!("CARGO_BIN_EXE_genkai"))) {
            let to = tree.join(library.strip_prefix("/").unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(&library, to).unwrap();
        }
        let mut tar =
            Command::new("tar").arg("-C").arg(&tree).args(["-c", "."]).stdout(Stdio::piped()).spawn().unwrap();
        let made = podman.command(&format!("import - {IMAGE}")).stdin(tar.stdout.take().unwrap()).output().unwrap();
        assert!(tar.wait().unwrap().success());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        podman
    }

    /// What is between the containers of a pod: podman's own is not everywhere.
    fn pause(&self) {
        let file = self.dir.path().join("Containerfile");
        let entry = "ENTRYPOINT [\"/genkai\", \"serve\", \"origin\", \"--listen\", \"127.0.0.1:0\"]";
        std::fs::write(&file, format!("FROM {IMAGE}\n{entry}\n")).unwrap();
        let name = "localhost/pause:test";
        let words =
            format!("build --network none --tag {name} --file {} {}", file.display(), self.dir.path().display());
        let made = self.command(&words).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let config = self.dir.path().join("containers.conf");
        let text = std::fs::read_to_string(&config).unwrap() + &format!("infra_image=\"{name}\"\n");
        std::fs::write(&config, text).unwrap();
    }

    /// Until there is no container. podman removes one a moment after its end.
    fn is_empty(&self) {
        until("the containers to be removed", LONGEST, || {
            let listed = self.command("ps --all --quiet").output().unwrap();
            listed.stdout.is_empty().then_some(())
        });
    }
}

/// What the dynamic linker loads with a program (ldd(1)).
fn libraries(program: &Path) -> Vec<PathBuf> {
    let said = Command::new("ldd").arg(program).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    said.lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
        .map(PathBuf::from)
        .collect()
}

#[test]
fn containers_make_one_load_and_nothing_is_left() {
    let _machine = machine();
    let podman = Podman::start();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let log = dir.path().join("who");
    let http = format!(
        "log_format who '$request_uri'; access_log {} who; server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }}",
        log.display()
    );
    let _nginx: Guard = nginx(dir.path(), &http, port);
    let load = |on: &str| {
        let mut command = genkai(&format!("load http://127.0.0.1:{port}/made --users 4 -n 301 --on {on} --json"));
        show(command.arg("--podman").arg(podman.words()))
    };
    let shown = load(&format!("podman:{IMAGE},containers=2,network=host"));
    let made = shown.faultless();
    let asked = std::fs::read_to_string(&log).unwrap().lines().filter(|line| *line == "/made").count();
    assert_eq!((made.finished, asked), (301, 301), "{}", shown.story());
    let places: Vec<&str> = made.workers.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["container 0", "container 1"]);
    podman.is_empty();
    // What each container has for itself is another server, or none.
    let own = load(&format!("podman:{IMAGE},network=none"));
    assert!(own.code == Some(2) && own.story().contains("leads to another server there than here"), "{}", own.story());
    for (on, words) in [
        ("podman:127.0.0.1:1/none:1,network=host", "container 0: it could not be started: "),
        (&*format!("podman:{IMAGE},network=host,memory=much"), "container 0: it could not be started: "),
    ] {
        let refused = load(on);
        eprintln!("{}", refused.story());
        assert!(refused.code == Some(3) && refused.story().contains(words), "{on}: {}", refused.story());
        assert!(
            refused.story().contains("no load was sent") && refused.story().contains("hint: "),
            "{}",
            refused.story()
        );
    }
    podman.is_empty();
    let after = std::fs::read_to_string(&log).unwrap().lines().filter(|line| *line == "/made").count();
    assert_eq!(after, 301, "no load was sent");
}

/// The pod of what is created in a cluster, by podman, which knows pods but no Jobs: it takes the whole of it and holds to it. (It gives
/// containers no standard input, so that genkai ends at once, as it does where nobody attaches.)
#[test]
fn the_pod_of_a_job_runs_under_podman_as_it_is() {
    let _machine = machine();
    // podman leaves rules in the network that it makes pods in.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
    let podman = Podman::start();
    podman.pause();
    let shown = show(&mut genkai(&format!("kubernetes manifest --on kubernetes:1,image={IMAGE},cpu=500m,memory=64Mi")));
    let job: Job = serde_saphyr::from_str(shown.stdout.split("\n---\n").next().unwrap()).unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": job.spec.unwrap().template.spec});
    let file = podman.dir.path().join("pod.yaml");
    std::fs::write(&file, pod.to_string()).unwrap();
    let played = podman.command(&format!("kube play --network none {}", file.display())).output().unwrap();
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    let look = || {
        let told = podman.command("inspect one-worker").output().unwrap();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        (told[0]["State"]["Status"] == "exited").then(|| told[0].clone())
    };
    let one = until("the end of the container", LONGEST, look);
    let host = &one["HostConfig"];
    assert_eq!(one["State"]["ExitCode"], 0, "{one}");
    assert_eq!((&one["Config"]["User"], &one["EffectiveCaps"]), (&json!("65532:65532"), &Value::Null), "{one}");
    assert_eq!((&host["ReadonlyRootfs"], &host["SecurityOpt"]), (&json!(true), &json!(["no-new-privileges"])), "{one}");
    assert_eq!((&host["Memory"], &host["CpuQuota"]), (&json!(64 << 20), &json!(50_000)), "{one}");
    let down = podman.command(&format!("kube down {}", file.display())).output().unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    podman.is_empty();
}
