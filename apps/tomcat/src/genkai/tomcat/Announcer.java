package genkai.tomcat;

import org.apache.catalina.Lifecycle;
import org.apache.catalina.LifecycleEvent;
import org.apache.catalina.LifecycleListener;
import org.apache.catalina.Server;
import org.apache.catalina.util.ServerInfo;

/** Says where Tomcat listens, in one line of JSON, once it does. Named in server.xml. */
public final class Announcer implements LifecycleListener {
    @Override
    public void lifecycleEvent(LifecycleEvent event) {
        if (Lifecycle.AFTER_START_EVENT.equals(event.getType()) && event.getSource() instanceof Server server) {
            int port = server.findServices()[0].findConnectors()[0].getLocalPort();
            String version = ServerInfo.getServerInfo() + " on Java " + System.getProperty("java.version");
            System.out.printf("{\"listening\":\"127.0.0.1:%d\",\"version\":\"%s\"}%n", port, version);
        }
    }
}
