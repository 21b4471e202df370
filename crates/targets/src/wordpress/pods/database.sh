# Makes a database in an empty folder and starts MariaDB on it, as whichever user this is.
# PASSWORD is that of the site's account. It is made of letters and digits.
set -eu
work=/run/genkai/work
umask 077
# A container that is started again finds what the one before it left.
mkdir -p "$work/tmp"
rm -f "$work/mariadb.sock" "$work/mariadb.pid"
export TMPDIR="$work/tmp"
[ -e "$work/made" ] || rm -rf "$work/data"
[ -e "$work/made" ] || mariadb-install-db --no-defaults --datadir="$work/data" --auth-root-authentication-method=socket --skip-test-db \
    --innodb-log-file-size=16M --innodb-use-native-aio=0 >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; exit 1; }
: >"$work/made"
cat >"$work/accounts.sql" <<END
CREATE DATABASE IF NOT EXISTS wordpress CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS wordpress@'%' IDENTIFIED BY '$PASSWORD';
GRANT ALL ON wordpress.* TO wordpress@'%';
END
exec mariadbd --no-defaults --datadir="$work/data" --socket="$work/mariadb.sock" --pid-file="$work/mariadb.pid" \
    --tmpdir="$work/tmp" --init-file="$work/accounts.sql" --port=3306 --bind-address=0.0.0.0 --skip-name-resolve \
    --character-set-server=utf8mb4 --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 \
    --innodb-doublewrite=0 --innodb-log-file-size=16M --innodb-use-native-aio=0 --aria-pagecache-buffer-size=8M \
    --key-buffer-size=1M --table-open-cache=200
