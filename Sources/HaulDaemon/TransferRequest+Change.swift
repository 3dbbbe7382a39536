import HaulControl
import HaulCore
import HaulKit

/// How the API changes the request of a stored transfer.
extension TransferRequest {
  /// Gives a download or an upload another address. As after a redirect, what was said of one
  /// server does not hold for another one: header fields, trusted hosts, an unchecked certificate.
  ///
  /// Its user says that the new one has the same file: bytes on disk count if length and strong
  /// validator agree, and otherwise are not discarded without a word.
  mutating func move(to url: ResourceURL, keepingName: Bool) throws(Problem) {
    guard let old = self.url else {
      throw Problem(409, "Conflict", "a program has no address")
    }
    if old.origin != url.origin {
      headers = HeaderFields()
      bearerFile = nil
      download?.trustedRedirectHosts = []
      download?.allowInsecure = false
      upload?.allowInsecure = false
      upload?.keySource = nil
      download?.region = nil
      download?.keySource = nil
    }
    if keepingName, case .directory(let path)? = download?.destination {
      download?.destination = .file(path.appendingPath(FileName(old).text))
      download?.createsDirectories = true
    }
    download?.resumesFromOtherURL = true
    download?.url = url
    upload?.url = url
  }

  mutating func change(_ headers: [HeaderChange]) throws(Problem) {
    guard self.url != nil else { throw Problem(409, "Conflict", "a program has no header fields") }
    try self.headers.apply(headers)
    // What replaces the token is not replaced by it.
    if headers.contains(where: { $0.name.lowercased() == "authorization" }) { bearerFile = nil }
  }

  mutating func readToken(of path: String) throws(Problem) {
    guard self.url != nil else { throw Problem(409, "Conflict", "a program has no token") }
    guard path.isAbsolutePath, !path.hasByte(0) else {
      throw Problem(422, "Unprocessable Content", "'bearer_file' is not an absolute path")
    }
    guard headers["Authorization"]?.lowercased().hasBytePrefix("bearer ") == true else {
      throw Problem(
        422, "Unprocessable Content", "'bearer_file' comes with the header field Authorization")
    }
    bearerFile = path
  }

  /// - Parameter name: empty for none.
  mutating func join(group name: String) throws(Problem) {
    group = name.isEmpty ? nil : try Problem.checked(try TransferRequest.name(name))
  }

  mutating func limitRate(to rate: Int64) throws(Problem) {
    guard self.url != nil else { throw Problem(409, "Conflict", "a program has no rate") }
    rateLimit = try Problem.checked(try TransferRequest.rate(rate))
  }
}
