import HaulCLI
import Testing

/// The environment of programs.
@Suite struct ProgramEnvironmentTests {
  @Test func `it has what a desktop and the network need, and nothing else`() {
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

  @Test func `The daemon has the address of a container's service too, but no key`() {
    let variables = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "PATH",
    ]
    let all = Dictionary(
      (variables + ["AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"]).map { ($0, "value") },
      uniquingKeysWith: { $1 })
    #expect(ProgramEnvironment.ofDaemon(all).keys.sorted() == variables.sorted())
    #expect(ProgramEnvironment.allowed(of: all).keys.sorted() == ["PATH"])
  }
}
