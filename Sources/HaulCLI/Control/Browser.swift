import CHaulSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The browser of the desktop.
enum Browser {
  /// Does not wait: without a desktop environment, `xdg-open` lasts as long as the browser.
  /// - Returns: false when it could not be started.
  static func open(_ url: String) -> Bool {
    let command = ["xdg-open", url]
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    return haul_spawn_daemon("xdg-open", "/dev/null", &arguments, &child) == 0
  }
}

extension ProcessContext {
  /// Whether a window could be opened.
  var hasDesktop: Bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
  }
}
