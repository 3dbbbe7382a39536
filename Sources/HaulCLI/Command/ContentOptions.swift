import ArgumentParser
import HaulCore

/// What the file must be.
struct ContentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The digest the file must have: sha-256, sha-512, sha-384, sha-1, md5 or crc32c.",
      valueName: "ALG=HEX"))
  var checksum: String?

  @Flag(
    help:
      "Allow parallel ranges and a checked resume for servers that do not mark versions of a file.")
  var allowUnverified = false

  func apply(to request: inout TransferRequest) {
    request.allowUnverified = allowUnverified
  }
}
