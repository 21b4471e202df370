<%@ page session="false" trimDirectiveWhitespaces="true" contentType="text/plain; charset=UTF-8" import="java.util.Map" %><%
// What the client has to cope with, each under a query of its own.
String quirk = String.valueOf(request.getQueryString());
switch (quirk) {
    case "chunks" -> {
        out.print("first");
        response.flushBuffer();
        out.print("second");
    }
    case "trailers" -> {
        response.setTrailerFields(() -> Map.of("X-Sum", "1"));
        out.print("first");
        response.flushBuffer();
        out.print("second");
    }
    case "nothing" -> response.setStatus(204);
    case "not-modified" -> response.setStatus(304);
    case "teapot" -> response.setStatus(418);
    case "error" -> response.sendError(503, "not now");
    case "thrown" -> throw new IllegalStateException("on purpose");
    case "thrown-late" -> {
        out.print("the status is out already");
        response.flushBuffer();
        throw new IllegalStateException("on purpose");
    }
    case "closing" -> response.setHeader("Connection", "close");
    case "many" -> {
        for (int n = 0; n < 90; n++) response.setHeader("X-" + n, String.valueOf(n));
    }
    case "short" -> {
        response.setContentLength(100);
        response.getWriter().print("short");
    }
    case "echo", "echo-expected" -> out.print(request.getInputStream().readAllBytes().length);
    case "early", "early-small" -> out.print("the body was not read");
    case "refused", "refused-expected" -> response.sendError(413);
    default -> out.print("hello");
}
%>
