#include "CHaulPage.h"

// C has #embed: Swift would compile a list of a hundred thousand numbers, for many seconds.
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char style_css[] = {
#embed "page/style.css"
};
static const unsigned char main_js[] = {
#embed "page/main.js"
};

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define JS "text/javascript; charset=utf-8"
#define FILE(name, type, bytes) {name, type, bytes, sizeof bytes}

static const haul_page_file files[] = {
    FILE("index.html", HTML, index_html),
    FILE("style.css", CSS, style_css),
    FILE("main.js", JS, main_js),
};

const haul_page_file *haul_page_files(size_t *count) {
  *count = sizeof files / sizeof files[0];
  return files;
}
