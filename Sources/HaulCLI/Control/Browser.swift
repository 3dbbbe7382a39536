import CHaulSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The browser of the desktop.
enum Browser {
  /// False when no browser could be started.
  static func open(_ url: String) -> Bool {
    let words = ["xdg-open", url]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    return haul_run_quietly(&arguments) == 0
  }
}

extension ProcessContext {
  /// Whether a window could be opened.
  var hasDesktop: Bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
  }
}
