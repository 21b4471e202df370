<?php
// Installs the site without questions, as wp-admin/install.php does after its form, and fills its front page.
define('WP_INSTALLING', true);

// Pluggable (wp-admin/includes/upgrade.php): the installer would mail the password.
function wp_new_blog_notification($title, $url, $user, $password) {}

require ABSPATH . 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

function genkai_fail($what) {
    fwrite(STDERR, $what . "\n");
    exit(1);
}

if (!is_blog_installed()) {
    $made = wp_install(GENKAI_TITLE, 'genkai', 'genkai@example.invalid', false, '', bin2hex(random_bytes(16)));
    if (empty($made['user_id'])) {
        genkai_fail('the installer made no user');
    }
}
$sentences = [
    'A limit is the place where more of the same stops helping.',
    'Most of what is slow waits for something else that is busy.',
    'The queue grows first, the answers get late, and only then something fails.',
    'Whoever changes two things at once learns about neither of them.',
    'A number without its spread is an anecdote with a decimal point.',
];
for ($post = 1; $post <= GENKAI_POSTS; $post++) {
    $content = '';
    for ($paragraph = 0; $paragraph < 4; $paragraph++) {
        $words = [];
        for ($i = 0; $i < 5; $i++) {
            $words[] = $sentences[($post + $paragraph * 2 + $i * 3) % count($sentences)];
        }
        $content .= "<!-- wp:paragraph -->\n<p>" . implode(' ', $words) . "</p>\n<!-- /wp:paragraph -->\n\n";
    }
    $id = wp_insert_post([
        'post_title' => 'Post number ' . $post,
        'post_content' => $content,
        'post_status' => 'publish',
        'post_author' => 1,
        'post_date' => sprintf('2024-01-%02d 12:00:00', $post),
    ], true);
    if (is_wp_error($id)) {
        genkai_fail('post ' . $post . ': ' . $id->get_error_message());
    }
}
update_option('permalink_structure', '/%postname%/');
flush_rewrite_rules(false);
