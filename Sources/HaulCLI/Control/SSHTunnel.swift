import HaulControl
import HaulCore

/// How a browser of the machine at which the user sits reaches the page.
package enum SSHTunnel {
  /// Nil outside SSH, and for a page that other machines reach by themselves.
  package static func hint(_ page: String, _ environment: [String: String]) -> String? {
    // The addresses and ports of the client and of this machine.
    let words = environment["SSH_CONNECTION"]?.byteSplit(separator: " ") ?? []
    guard words.count == 4, IPAddress(String(words[2])) != nil, let server = UInt16(words[3]),
      let rest = page.dropping(bytePrefix: "http://"),
      let host = HostName(String(rest.prefix(beforeAnyOf: "/"))), let port = host.port
    else { return nil }
    let user = environment["USER"].flatMap { NameCompletion.isSafe($0) ? "\($0)@" : nil } ?? ""
    let option = server == 22 ? "" : "-p \(server) "
    let target = HostName(host: host.host, port: port)
    return "to open it on your machine, run there: "
      + "ssh \(option)-L \(port):\(target) \(user)\(words[2])"
  }
}
