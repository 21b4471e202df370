//! `genkai tune` before a pool of php-fpm that shares a database with any copy of it.

use std::io::Write;
use std::time::Duration;

use crate::harness::judged::told;
use crate::harness::servers::{free, nginx};
use crate::harness::{genkai, machine, until};
use crate::others::{before_pool, database, noted, pool};

/// That no copy is made of a pool whose children hold connections that it would be short of: what the database refuses the copy, it does not refuse the pool.
#[test]
fn a_pool_that_holds_connections_of_its_database_has_no_copy_beside_it() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let _database = database(dir.path());
    let _fpm = pool(dir.path(), &["php-fpm8.2"], "pm = static\npm.max_children = 6\n");
    let page = format!(
        "<?php mysqli_report(MYSQLI_REPORT_OFF); $db = @new mysqli('p:localhost', 'root', '', '', 0, '{root}/db.sock');\n\
         if ($db->connect_errno) {{ http_response_code(500); exit('no database'); }}\n$db->query('select sleep(0.1)'); echo 'here';\n"
    );
    std::fs::write(dir.path().join("index.php"), page).unwrap();
    // All of its children have been asked.
    let [port] = free();
    let front = dir.path().join("front");
    std::fs::create_dir(&front).unwrap();
    let pages = std::fs::read_to_string(before_pool(dir.path())).unwrap();
    let server = pages.split_once("http { ").unwrap().1.replace("listen 80", &format!("listen 127.0.0.1:{port}"));
    let nginx = nginx(&front, server.trim_end().trim_end_matches('}'), port);
    let socket = dir.path().join("db.sock");
    until("each child to hold a connection", Duration::from_secs(30), || {
        let ask = || {
            std::net::TcpStream::connect(("127.0.0.1", port))
                .map(|mut to| (to.write_all(b"GET / HTTP/1.0\r\n\r\n"), to))
        };
        let asked: Vec<_> = (0..8).map(|_| ask()).collect();
        asked.into_iter().flatten().for_each(|(_, mut to)| drop(std::io::read_to_string(&mut to)));
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let held = sockets.lines().filter(|line| line.ends_with(&*socket.to_string_lossy())).count();
        (held > 6).then_some(())
    });
    drop(nginx);
    let mut command = genkai("tune nginx --users 12 --spawn-rate 6 --think 200ms --quick --pairs 0");
    command.args(["--objective", "errors < 5%", "--config"]).arg(before_pool(dir.path()));
    let run = told(&command);
    assert_eq!(run.code, Some(0), "{}", run.story());
    let noted = noted(&run);
    let said = "hold 6 of the 10 connections of MariaDB, max_connections 10";
    assert!(noted.iter().any(|text| text.contains(said) && text.contains("may want 6 more")), "{noted:?}");
    assert!(!run.story().contains("(Too many connections)"), "{}", run.story());
}
