//! Whether the key of a `limit_conn_zone` or `limit_req_zone` can be empty. "Requests with an empty key value are not accounted"
//! (ngx_http_limit_conn_module, ngx_http_limit_req_module): a limit by an empty key limits nobody.

use crate::nginx::config::Value;

/// What a key does with the requests under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// It is never empty, and the same for all requests of a visitor: every request is counted, together with the others.
    Counts,
    /// It is always empty: no request is counted.
    Nothing,
    /// It may be empty, or differ from request to request; the configuration does not say how often.
    Depends,
}

impl Keyed {
    /// By a key of this value.
    pub(super) fn by(key: &Value) -> Keyed {
        match key {
            key if key.constant() == Some("") => Keyed::Nothing,
            key if key.full && key.steady => Keyed::Counts,
            _ => Keyed::Depends,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::path::Path;

    use super::*;
    use crate::nginx::config::Config;

    fn keyed(http: &str, server: &str, key: &str, visitor: Option<Ipv4Addr>) -> Keyed {
        let text = format!("events {{}}\nhttp {{ {http} server {{ listen 80; {server} location / {{ }} }} }}\n");
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
        let route = config.route(Some("localhost"), "/").unwrap();
        Keyed::by(&route.ways[0].looked[0].variables.clone().of_visitor(visitor).value(key))
    }

    #[test]
    fn a_server_without_a_name_has_an_empty_one() {
        assert_eq!(keyed("", "", "$server_name", None), Keyed::Nothing);
        assert_eq!(keyed("", "server_name \"\";", "$server_name", None), Keyed::Nothing);
        assert_eq!(keyed("", "server_name localhost;", "${server_name}", None), Keyed::Counts);
        assert_eq!(keyed("", "server_name $hostname;", "$server_name", None), Keyed::Counts);
        assert_eq!(keyed("", "", "$server_name$binary_remote_addr", None), Keyed::Counts);
        assert_eq!(keyed("", "", "x$server_name", None), Keyed::Counts);
    }

    #[test]
    fn what_the_client_sends_may_be_empty() {
        for key in ["$http_x_api_key", "$cookie_session", "$remote_user", "$request_id", "$made_by_nobody"] {
            assert_eq!(keyed("", "", key, None), Keyed::Depends, "{key}");
        }
        for key in ["$binary_remote_addr", "$host", "$http_host$http_x", "constant"] {
            assert_eq!(keyed("", "", key, None), Keyed::Counts, "{key}");
        }
        assert_eq!(keyed("", "", "$arg_id", None), Keyed::Nothing, "the path has no query");
        assert_eq!(keyed("", "set $k a;", "$k", None), Keyed::Counts);
        assert_eq!(keyed("", "set $k \"\";", "$k", None), Keyed::Nothing);
        assert_eq!(keyed("split_clients $request_id $k { 50% a; * b; }", "", "$k", None), Keyed::Depends, "two counts");
    }

    const LIST: &str = "geo $limited { default 1; 127.0.0.0/8 0; 127.0.0.9 1; }\n\
                        map $limited $limit_key { 0 \"\"; 1 $binary_remote_addr; }";

    #[test]
    fn an_allow_list_depends_on_who_comes() {
        assert_eq!(keyed(LIST, "", "$limit_key", None), Keyed::Depends);
        assert_eq!(keyed(LIST, "", "$limit_key", Some(Ipv4Addr::LOCALHOST)), Keyed::Nothing);
        assert_eq!(keyed(LIST, "", "$limit_key", Some(Ipv4Addr::new(127, 0, 0, 9))), Keyed::Counts);
        assert_eq!(keyed(LIST, "", "$limited", None), Keyed::Counts);
    }

    #[test]
    fn a_map_whose_values_agree_is_known() {
        let map = |rows: &str| keyed(&format!("map $http_a $b {{ {rows} }}"), "", "$b", None);
        assert_eq!(map("default x; a y;"), Keyed::Counts);
        assert_eq!(map("a y;"), Keyed::Depends);
        assert_eq!(map("default \"\"; a \"\";"), Keyed::Nothing);
        assert_eq!(keyed("map $b $b { default $b; }", "", "$b", None), Keyed::Depends);
    }
}
