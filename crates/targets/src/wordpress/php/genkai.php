<?php
// Must-use plugin: answers stand for themselves (no redirect to a canonical address) and nothing leaves the host.
remove_filter('template_redirect', 'redirect_canonical');
add_filter('pre_http_request', function () {
    return new WP_Error('genkai', 'outgoing requests are off during a load test');
});
add_filter('pre_wp_mail', '__return_true');
// What pages wait for instead, microseconds: only those that visitors ask for.
add_action('template_redirect', function () {
    if (GENKAI_WAITS > 0) {
        usleep(GENKAI_WAITS);
    }
});
