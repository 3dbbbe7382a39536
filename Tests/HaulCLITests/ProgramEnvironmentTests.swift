import HaulCLI
import Testing

@Suite("The environment of programs") struct ProgramEnvironmentTests {
  @Test("it has what a desktop and the network need, and nothing else")
  func allowed() {
    let needed = [
      "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
      "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "https_proxy", "NO_PROXY",
      "SSL_CERT_FILE",
    ]
    let others = [
      "HAUL_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "NETRC",
      "XDG_ACTIVATION_TOKEN", "XDG_SESSION_COOKIE", "LD_PRELOAD", "PWD", "path", "PATH\u{301}",
      "LC\u{301}_ALL",
    ]
    let all = Dictionary((needed + others).map { ($0, "value") }, uniquingKeysWith: { $1 })
    #expect(ProgramEnvironment.allowed(of: all).keys.sorted() == needed.sorted())
  }
}
