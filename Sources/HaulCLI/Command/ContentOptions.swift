import ArgumentParser
import HaulCore

/// Requirements for the file's content.
struct ContentOptions: ParsableArguments {
  @Option(
    name: [.customShort("i", allowingJoined: true), .customLong("input-file")],
    help: ArgumentHelp(
      """
      A file with one URL per line; indented lines below a URL (out=, dir=, checksum=, header=) \
      apply to that URL alone. Or .csv, .tsv or .jsonl, with a row for each URL. - is standard \
      input; https:// or s3:// is a list on a server.
      """, valueName: "FILE"),
    completion: .file())
  var inputFiles: [String] = []

  @OptionGroup var table: TableOptions
  var columns: [InputTable.Meaning: String] { table.columns }
  var inputFormat: InputTable.Format? { table.inputFormat }

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp(
      """
      A digest that the file must have: sha-256, sha-512, sha-384, sha-1, md5 or crc32c. If it is \
      repeated, all must match.
      """, valueName: "ALG=HEX"))
  var checksums: [String] = []

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      If the server sends no strong validator, fetch parallel ranges anyway, and resume \
      after comparing bytes; the file is reported as unverified.
      """
  )
  var allowUnverified: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Also resume a part file that was downloaded from another address, if length and strong \
      validator match.
      """
  )
  var sameResource: Bool?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Request a compressed body (gzip, deflate, br), over one connection, and save it decoded; \
      the decoded file may have at most --max-filesize (default: 1 GiB).
      """
  )
  var decode: Bool?

  func apply(to request: inout DownloadRequest) {
    request.allowUnverified = allowUnverified ?? false
    request.decodesContent = decode ?? false
    request.resumesFromOtherURL = sameResource ?? false
  }
}
