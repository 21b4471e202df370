# Copies the image's WordPress into the folder that the web server reads too, installs the site and starts php-fpm, as whichever user this is.
# PASSWORD is that of the site's account at the database. It is made of letters and digits.
set -eu
files=/run/genkai/files
work=/run/genkai/work
site=$work/site
for root in /usr/src/wordpress /usr/share/wordpress /var/www/html ''; do
    [ -e "$root/wp-settings.php" ] && break
done
if [ -z "$root" ]; then
    echo "there is no WordPress in this image (in /usr/src/wordpress, /usr/share/wordpress, /var/www/html)" >&2
    exit 1
fi
# A container that is started again finds what the one before it left.
if [ ! -e "$work/installed" ]; then
rm -rf "$site"
mkdir "$site"
# Links of a package lead to what other packages have; what is not there is not needed.
cp -RL "$root/." "$site/" 2>/dev/null || [ -e "$site/wp-settings.php" ]
rm -rf "$site/wp-content/mu-plugins" "$site/wp-content/plugins" "$site/.htaccess"
mkdir -p "$site/wp-content/mu-plugins" "$site/wp-content/plugins" "$site/wp-content/uploads"
rm -f "$site/wp-config.php"
cp "$files/wp-config.php" "$site/wp-config.php"
cp "$files/genkai.php" "$site/wp-content/mu-plugins/genkai.php"
# The newest of WordPress's own themes, else any.
theme=
while read -r one; do
    if [ -e "$site/wp-content/themes/$one/style.css" ]; then theme=$one; break; fi
done <"$files/themes"
for one in "$site"/wp-content/themes/*/style.css; do
    [ -n "$theme" ] || { theme=${one%/style.css}; theme=${theme##*/}; }
done
cat >"$work/prepend.php" <<END
<?php
define('ABSPATH', '$site/');
define('GENKAI_DATABASE', '$(cat "$files/database")');
define('GENKAI_PASSWORD', '$PASSWORD');
define('GENKAI_THEME', '$theme');
$(cat "$files/defines")
END
chmod 600 "$work/prepend.php"
php -d auto_prepend_file="$work/prepend.php" "$files/install.php"
fi
sed "s|@WORK@|$work|g" "$files/php-fpm.conf" >"$work/php-fpm.conf"
for fpm in php-fpm /usr/sbin/php-fpm*; do
    command -v "$fpm" >/dev/null && break
done
: >"$work/installed"
exec "$fpm" --nodaemonize --fpm-config "$work/php-fpm.conf"
