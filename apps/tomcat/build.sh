#!/bin/sh
# Compiles the application against Debian's Tomcat into base/, a private CATALINA_BASE; Maven fetches what else it needs.
set -eu
cd "$(dirname "$0")"
lib=${CATALINA_HOME:-/usr/share/tomcat10}/lib
rm -rf base
mkdir -p base/lib base/webapps/ROOT/WEB-INF/classes
mvn -q -B -f pom.xml dependency:copy-dependencies
javac -Xlint:all,-processing,-path,-classfile -Werror --release 17 \
  -cp "$lib/websocket-api.jar:$lib/websocket-client-api.jar:$lib/catalina.jar:$lib/servlet-api.jar:base/lib/*" \
  -d base/webapps/ROOT/WEB-INF/classes ../protocol/java/genkai/*.java src/genkai/tomcat/*Endpoint.java \
  src/genkai/tomcat/Connection.java src/genkai/tomcat/Pages.java
mkdir -p base/classes
javac -Xlint:all,-processing,-path,-classfile -Werror --release 17 -cp "$lib/catalina.jar:$lib/tomcat-coyote.jar:$lib/servlet-api.jar" -d base/classes src/genkai/tomcat/Announcer.java
jar --create --file base/lib/announcer.jar -C base/classes .
rm -r base/classes
cp -r conf base/conf
touch base/.done
