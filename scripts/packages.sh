#!/usr/bin/env bash
# Installs what is missing from the distribution's packages, and says what before it does.
#   packages.sh PACKAGE:PROOF ...      PROOF is a command or a path that is there once the package is.
# Services that the packages bring are neither started now nor with the machine: genkai starts its own, privately.
# Packages that only some tests or contenders need are left out, with a word about it, where the distribution has none.
set -euo pipefail

export PATH="$PATH:/usr/sbin:/sbin"
optional=(tomcat10-common trafficserver)
missing=()
for item in "$@"; do
  package=${item%%:*} proof=${item#*:}
  case $proof in
    php-fpm) compgen -G '/usr/sbin/php-fpm[0-9]*' >/dev/null || missing+=("$package") ;;
    /usr/lib/php/) compgen -G '/usr/lib/php/*/mysqli.so' >/dev/null || missing+=("$package") ;;
    /*) [ -e "$proof" ] || missing+=("$package") ;;
    *) command -v "$proof" >/dev/null || missing+=("$package") ;;
  esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: these are missing, and this is not a Debian or Ubuntu with apt: ${missing[*]}" >&2
  echo "  hint: install them in your system's way, then run make again" >&2
  exit 3
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "error: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
    echo "  hint: ask an administrator for: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 3
  }
  as_root=(sudo)
fi

echo "installing from the distribution's packages: ${missing[*]}"
# invoke-rc.d asks this file whether a service may start (Debian's policy-rc.d interface); ours says no, and goes again.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod +x $policy
  trap '"${as_root[@]}" rm -f $policy' EXIT
fi
units() {
  command -v systemctl >/dev/null && systemctl list-unit-files --no-legend --state=enabled --type=service 2>/dev/null | cut -d' ' -f1 | sort || true
}
install() {
  for package in "${optional[@]}"; do
    if [[ " ${missing[*]} " == *" $package "* ]] && ! apt-cache show "$package" >/dev/null 2>&1; then
      echo "left out: this distribution has no $package" >&3
      read -ra missing <<<"$(printf '%s\n' "${missing[@]}" | grep -vx "$package" | tr '\n' ' ')"
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
log=$(mktemp)
before=$(units)
if ! { "${as_root[@]}" apt-get update -q && install; } 3>&1 >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "error: apt-get could not install: ${missing[*]}" >&2
  rm -f "$log"
  exit 3
fi
rm -f "$log"
for unit in $(comm -13 <(echo "$before") <(units)); do
  "${as_root[@]}" systemctl disable -q "$unit" && echo "not started with the machine: $unit"
done
