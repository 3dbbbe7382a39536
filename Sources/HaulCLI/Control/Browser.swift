import CHaulSystem
import HaulFiles
import HaulLibC

/// The browser of the desktop.
enum Browser {
  /// Does not wait: without a desktop environment, `xdg-open` lasts as long as the browser.
  /// - Parameter file: a file, because other users can read the arguments of a program.
  /// - Returns: false when it could not be started.
  static func open(_ file: String, _ environment: [String: String]) -> Bool {
    CStrings.with(["xdg-open", file]) { arguments in
      CStrings.with(ProgramEnvironment.allowed(of: environment)) { variables in
        var child: pid_t = 0
        return haul_spawn_daemon("xdg-open", "/dev/null", arguments, variables, &child) == 0
      }
    }
  }
}

extension ProcessContext {
  /// Whether a window could be opened.
  var hasDesktop: Bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
  }
}
