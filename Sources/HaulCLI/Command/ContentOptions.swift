import ArgumentParser
import HaulCore

/// Requirements for the file's content.
struct ContentOptions: ParsableArguments {
  @Option(
    name: [.customShort("i", allowingJoined: true), .customLong("input-file")],
    help: ArgumentHelp(
      """
      A file with one URL a line; indented lines below it, out=, dir=, checksum= and header=, \
      are for that URL alone. - is standard input.
      """, valueName: "FILE"),
    completion: .file())
  var inputFiles: [String] = []

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp(
      """
      A digest that the file must have: sha-256, sha-512, sha-384, sha-1, md5 or crc32c. May be \
      repeated: all must match.
      """, valueName: "ALG=HEX"))
  var checksums: [String] = []

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help:
      "Allow parallel ranges, and a resume after comparing bytes, for servers that do not mark versions; the file is unverified."
  )
  var allowUnverified: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help:
      "Resume bytes of another address, when length and strong validator match.")
  var sameResource: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Ask for a compressed body (gzip, deflate, br) and save it decoded, at most --max-filesize or \
      1 GiB; over one connection.
      """
  )
  var decode: Bool?

  func apply(to request: inout DownloadRequest) {
    request.allowUnverified = allowUnverified ?? false
    request.decodesContent = decode ?? false
    request.resumesFromAnotherAddress = sameResource ?? false
  }
}
