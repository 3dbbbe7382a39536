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

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: """
      Take [001-100], [a-z], [1-9:2] and {a,b} in an address of the command line for several \
      addresses; #1 in -o is the first one's value (default: on).
      """)
  var glob: Bool?

  @Option(
    help: ArgumentHelp(
      "The most addresses that patterns may stand for (default: 10000).", valueName: "N"),
    transform: { try ArgumentValue.count($0, in: 1...1_000_000) })
  var globLimit: Int?

  @Option(
    name: .customLong("checksum"),
    help: ArgumentHelp(
      """
      A digest that the file must have: sha-256, sha-512, sha-384, sha-1, md5, crc32c or \
      crc64nvme. If it is repeated, all must match.
      """, valueName: "ALG=HEX"))
  var checksums: [String] = []

  @Option(
    name: .customLong("checksum-file"),
    help: ArgumentHelp(
      """
      A list of digests (SHA256SUMS, NAME.sha256, ...), here or on a server: the digest of each \
      file must be in it, and match. May be repeated.
      """, valueName: "FILE|URL"),
    completion: .file())
  var checksumFiles: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      Look for a list of digests beside each file on its server (URL.sha256, SHA256SUMS, ...): \
      auto = download the file unchecked if there is none; required = fail.
      """, valueName: "how"),
    completion: .list(ChecksumSearch.Mode.allCases.map(\.rawValue)),
    transform: ArgumentValue.choice)
  var checksumFrom: ChecksumSearch.Mode?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "With --checksum-file: download files that the list does not name, unchecked.")
  var ignoreMissing: Bool?

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
