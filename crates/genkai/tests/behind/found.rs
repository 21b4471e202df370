//! Who stands behind a proxy is found as he is, however he came to listen and by whatever path he is named.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::servers::Guard;
use crate::harness::{Run, genkai, machine, run, until};
use crate::others::noted;

/// Longest wait for a server.
const LONGEST: Duration = Duration::from_secs(60);

/// A few users on nginx with this file.
fn tuned(dir: &Path, text: &str) -> Run {
    std::fs::write(dir.join("nginx.conf"), text).unwrap();
    let mut tune = genkai("tune nginx --users 2 --spawn-rate 2 --think 200ms --quick --quiet --pairs 0 --bisect 0");
    run(tune.args(["--objective", "errors < 1%", "--config"]).arg(dir.join("nginx.conf")))
}

/// As Debian has it: the pool's socket is one of a version, named by a link to it in a folder that a link leads to; and only `index.php` is there of
/// those that `index` names.
#[test]
fn a_pool_is_found_by_a_link_to_its_socket_and_by_the_index_that_is_there() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["run", "site"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    symlink(root.join("run"), root.join("var-run")).unwrap();
    symlink(root.join("run/php8.2-fpm.sock"), root.join("run/php-fpm.sock")).unwrap();
    std::fs::write(root.join("site/index.php"), "<?php echo 'here';\n").unwrap();
    let pool = format!(
        "[global]\nerror_log = syslog\n[www]\nlisten = {}/run/php8.2-fpm.sock\nlisten.mode = 0666\nuser = nobody\ngroup = nogroup\n\
         pm = static\npm.max_children = 3\n",
        root.display()
    );
    std::fs::write(root.join("fpm.conf"), pool).unwrap();
    let mut fpm = Command::new("php-fpm8.2");
    fpm.args(["-F", "-R", "-y"]).arg(root.join("fpm.conf")).stderr(Stdio::null());
    let _fpm = Guard(fpm.spawn().unwrap());
    until("php-fpm to listen", LONGEST, || UnixStream::connect(root.join("run/php8.2-fpm.sock")).ok());
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; root {0}/site; index index.html index.htm index.nginx-debian.html index.php;\n\
         location / {{ try_files $uri $uri/ =404; }}\n\
         location ~ \\.php$ {{ fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n\
         fastcgi_pass unix:{0}/var-run/php-fpm.sock; }} }} }}\n",
        root.display()
    );
    let run = tuned(root, &text);
    let noted = noted(&run);
    assert!(noted.iter().any(|text| text.contains("php-fpm's pool www")), "{noted:?}\n{}", run.story());
    assert!(noted.iter().any(|text| text.contains("private copy")), "{noted:?}\n{}", run.story());
    assert!(noted.iter().all(|text| !text.contains("nobody listens")), "{noted:?}");
}

/// The service manager as far as sockets go: it listens, starts a service when somebody comes, and keeps the socket.
const MANAGER: &str = "use Socket; use POSIX; $^F = 9; my $path = shift; socket(my $s, PF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un($path)) or die; \
                       listen($s, 64); POSIX::dup2(fileno($s), 3); my $set = ''; vec($set, 3, 1) = 1; select(my $now = $set, undef, undef, undef); \
                       if (fork == 0) { $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; exec 'setpriv', '--pdeathsig', 'TERM', @ARGV } sleep 600;";

#[test]
fn a_service_that_is_started_by_its_socket_is_told_and_not_who_keeps_that() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let app = "def app(environ, start):\n    start('200 OK', [('Content-Length', '4')])\n    return [b'here']\n";
    std::fs::write(dir.path().join("app.py"), app).unwrap();
    let (manager, socket) = (dir.path().join("systemd"), dir.path().join("g.sock"));
    std::fs::copy("/usr/bin/perl", &manager).unwrap();
    let mut command = Command::new(&manager);
    command.args(["-e", MANAGER]).arg(&socket).args(["gunicorn", "-w", "2", "app:app"]);
    let manager = Guard(command.current_dir(dir.path()).stderr(Stdio::null()).spawn().unwrap());
    until("it to listen", LONGEST, || socket.exists().then_some(()));
    let text = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://unix:{}; }} }} }}\n",
        socket.display()
    );
    let run = tuned(dir.path(), &text);
    let noted = noted(&run);
    assert!(
        noted.iter().any(|text| text.contains("gunicorn") && text.contains("workers 2")),
        "{noted:?}\n{}",
        run.story()
    );
    assert!(noted.iter().all(|text| !text.contains(&format!("process {} ", manager.0.id()))), "{noted:?}");
}
