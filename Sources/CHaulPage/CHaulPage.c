#include "CHaulPage.h"

// C has #embed: Swift would compile a list of a hundred thousand numbers, for many seconds.
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char manifest_webmanifest[] = {
#embed "page/manifest.webmanifest"
};
static const unsigned char icon_svg[] = {
#embed "page/icon.svg"
};
static const unsigned char icon_png[] = {
#embed "page/icon.png"
};
static const unsigned char style_css[] = {
#embed "page/style.css"
};
static const unsigned char actions_js[] = {
#embed "page/actions.js"
};
static const unsigned char add_js[] = {
#embed "page/add.js"
};
static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char charts_js[] = {
#embed "page/charts.js"
};
static const unsigned char details_js[] = {
#embed "page/details.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char edit_js[] = {
#embed "page/edit.js"
};
static const unsigned char files_js[] = {
#embed "page/files.js"
};
static const unsigned char format_js[] = {
#embed "page/format.js"
};
static const unsigned char keys_js[] = {
#embed "page/keys.js"
};
static const unsigned char limits_js[] = {
#embed "page/limits.js"
};
static const unsigned char list_js[] = {
#embed "page/list.js"
};
static const unsigned char login_css[] = {
#embed "page/login.css"
};
static const unsigned char main_js[] = {
#embed "page/main.js"
};
static const unsigned char model_js[] = {
#embed "page/model.js"
};
static const unsigned char notices_js[] = {
#embed "page/notices.js"
};
static const unsigned char probe_js[] = {
#embed "page/probe.js"
};
static const unsigned char sessions_js[] = {
#embed "page/sessions.js"
};
static const unsigned char share_js[] = {
#embed "page/share.js"
};
static const unsigned char sound_js[] = {
#embed "page/sound.js"
};
static const unsigned char toasts_js[] = {
#embed "page/toasts.js"
};

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define JS "text/javascript; charset=utf-8"
#define MANIFEST "application/manifest+json"
#define FILE(name, type, bytes) {name, type, bytes, sizeof bytes}

static const haul_page_file files[] = {
    FILE("index.html", HTML, index_html),
    FILE("manifest.webmanifest", MANIFEST, manifest_webmanifest),
    FILE("icon.svg", "image/svg+xml", icon_svg),
    FILE("icon.png", "image/png", icon_png),
    FILE("style.css", CSS, style_css),
    FILE("actions.js", JS, actions_js),
    FILE("add.js", JS, add_js),
    FILE("api.js", JS, api_js),
    FILE("charts.js", JS, charts_js),
    FILE("details.js", JS, details_js),
    FILE("dom.js", JS, dom_js),
    FILE("edit.js", JS, edit_js),
    FILE("files.js", JS, files_js),
    FILE("format.js", JS, format_js),
    FILE("keys.js", JS, keys_js),
    FILE("limits.js", JS, limits_js),
    FILE("list.js", JS, list_js),
    FILE("login.css", CSS, login_css),
    FILE("main.js", JS, main_js),
    FILE("model.js", JS, model_js),
    FILE("notices.js", JS, notices_js),
    FILE("probe.js", JS, probe_js),
    FILE("sessions.js", JS, sessions_js),
    FILE("share.js", JS, share_js),
    FILE("sound.js", JS, sound_js),
    FILE("toasts.js", JS, toasts_js),
};

const haul_page_file *haul_page_files(size_t *count) {
  *count = sizeof files / sizeof files[0];
  return files;
}
