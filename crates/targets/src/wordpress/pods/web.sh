# Starts the web server before php-fpm once the site is installed.
set -eu
work=/run/genkai/work
until [ -e "$work/installed" ]; do sleep 0.2; done
exec nginx -e stderr -c /run/genkai/files/web.conf
