import HaulCore

/// The environment of the daemon and of all programs that Haul starts: what a desktop and the
/// network need. The rest may be secrets of the shell in which Haul was started.
package enum ProgramEnvironment {
  /// That of the daemon: also what it needs to ask for the keys of a container's role.
  package static func ofDaemon(_ environment: [String: String]) -> [String: String] {
    let keys = environment.filter { S3KeyAddress.ofContainer.contains($0.key) }
    return allowed(of: environment).merging(keys) { $1 }
  }

  package static func allowed(of environment: [String: String]) -> [String: String] {
    environment.filter { names.contains($0.key) || $0.key.utf8.starts(with: "LC_".utf8) }
  }

  private static let names = Set(user + files + desktop + toolkits + network)

  private static let user = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    "LD_LIBRARY_PATH",
  ]
  private static let files = [
    "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME",
    "XDG_DOWNLOAD_DIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
  ]
  private static let desktop = [
    "BROWSER", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "DISPLAY",
    "GNOME_DESKTOP_SESSION_ID", "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "WAYLAND_DISPLAY",
    "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_MENU_PREFIX", "XDG_SESSION_DESKTOP",
    "XDG_SESSION_ID", "XDG_SESSION_TYPE",
  ]
  /// Variables for windows that a program may open.
  private static let toolkits = [
    "GDK_BACKEND", "GDK_SCALE", "GTK_IM_MODULE", "GTK_THEME", "MOZ_ENABLE_WAYLAND", "QT_IM_MODULE",
    "QT_QPA_PLATFORM", "QT_QPA_PLATFORMTHEME", "QT_SCALE_FACTOR", "XMODIFIERS",
  ]
  /// The password of a proxy too: without it, nothing reaches the network.
  private static let network = [
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ftp_proxy", "FTP_PROXY",
    "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSH_AUTH_SOCK", "SSL_CERT_DIR",
    "SSL_CERT_FILE",
  ]
}
