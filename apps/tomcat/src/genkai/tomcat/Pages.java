package genkai.tomcat;

import genkai.Node;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** What the node tells who asks by plain HTTP. There before the first client, so that a node without its Redis does not start. */
@WebServlet(urlPatterns = {"/counters", "/trace"}, loadOnStartup = 1)
public final class Pages extends HttpServlet {
    private static final long serialVersionUID = 1;
    static final Node NODE = new Node();

    @Override
    public void destroy() {
        NODE.close();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain;charset=utf-8");
        response.getWriter().write(NODE.page(request.getServletPath()));
    }
}
