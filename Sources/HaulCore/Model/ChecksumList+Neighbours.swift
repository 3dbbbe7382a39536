extension ChecksumList {
  /// Where publishers put lists of digests.
  package struct Neighbour: Hashable, Sendable {
    package let address: ResourceURL
    /// Whether it is for this file alone, so that a digest without a name is the file's.
    package let isOfFile: Bool
  }

  /// The addresses beside a file where its digest usually is, those of strong algorithms first; all
  /// of them are of the file's origin. None for an address without a name.
  package static func neighbours(of url: ResourceURL) -> [Neighbour] {
    guard !url.path.endsWithSlash else { return [] }
    let file = String(url.absoluteString.prefix(beforeAnyOf: "?"))
    let directory = file.pathParts.directory
    func address(_ text: String) -> ResourceURL? {
      // What is made of an address can always be read as one.
      let address = try? ResourceURL(text).taking(url.credentials)
      return address?.origin == url.origin ? address : nil
    }
    return [(strongEnds, strongNames), (weakEnds, weakNames)].flatMap { ends, names in
      ends.compactMap { address("\(file)\($0)").map { Neighbour(address: $0, isOfFile: true) } }
        + names.compactMap {
          address(directory.appendingPath($0)).map { Neighbour(address: $0, isOfFile: false) }
        }
    }
  }

  private static let strongEnds = [".sha256", ".sha256sum", ".sha512", ".sha512sum"]
  private static let strongNames = [
    "SHA256SUMS", "SHA512SUMS", "sha256sums.txt", "SHA256SUMS.txt", "sha256sum.txt",
    "checksums.txt",
  ]
  private static let weakEnds = [".sha1", ".md5"]
  private static let weakNames = ["SHA1SUMS", "MD5SUMS"]
}
