package genkai.tomcat;

import org.apache.catalina.Lifecycle;
import org.apache.catalina.LifecycleEvent;
import org.apache.catalina.LifecycleListener;
import org.apache.catalina.Server;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.util.ServerInfo;

/** Says where Tomcat listens, in one line of JSON, once it does. Named in server.xml. */
public final class Announcer implements LifecycleListener {
    @Override
    public void lifecycleEvent(LifecycleEvent event) {
        if (!(event.getSource() instanceof Server server)) return;
        switch (event.getType()) {
            case Lifecycle.BEFORE_INIT_EVENT -> configure(connector(server));
            case Lifecycle.AFTER_START_EVENT -> announce(connector(server));
            default -> { }
        }
    }

    private static Connector connector(Server server) {
        return server.findServices()[0].findConnectors()[0];
    }

    /** In server.xml it could not be left to the system. */
    private static void configure(Connector connector) {
        String size = System.getProperty("genkai.sendBuffer");
        if (size != null) connector.setProperty("socket.txBufSize", size);
    }

    private static void announce(Connector connector) {
        String version = ServerInfo.getServerInfo() + " on Java " + System.getProperty("java.version");
        String address = System.getProperty("genkai.address", "127.0.0.1");
        System.out.printf("{\"listening\":\"%s:%d\",\"version\":\"%s\"}%n", address, connector.getLocalPort(), version);
        // What the application says on standard output begins after it.
        System.setProperty("genkai.listening", "");
    }
}
