import HaulCore

/// Which options are for which kind of transfer.
extension AddCommand {
  var isUpload: Bool { put || !form.isEmpty }

  var hasUploadOptions: Bool { method != nil || ifMatch != nil || tree.links != nil }

  /// The rate limit of the configuration is that of all transfers together. A program has no use
  /// for any line of it.
  func overriddenSettings() -> Set<String>? {
    guard !run else { return nil }
    let common = Settings.overridden(by: credentials, requests)
      .union(Settings.overridden(by: destination)).union(Settings.overridden(by: content))
      .union(["limit-rate"])
    return isUpload ? common.union(ofDownloads.map(\.name)).union(["if-exists"]) : common
  }

  /// - Throws: if an option is given that has no effect on an upload.
  func checkUpload() throws(UsageError) {
    if let name = ofDownloads.first(where: \.isGiven)?.name {
      throw UsageError("--\(name) is for downloads; --put has none")
    }
  }

  /// - Throws: if an option is given that has no effect on a program.
  func checkProgram() throws(UsageError) {
    if let name = (ofDownloads + ofRequests).first(where: \.isGiven)?.name {
      throw UsageError("--\(name) is for downloads and uploads; --run is neither")
    }
  }

  private typealias Option = (name: String, isGiven: Bool)

  private var ofDownloads: [Option] {
    [
      ("output", destination.output != nil), ("directory", destination.directory != nil),
      ("rule", !destination.rules.isEmpty), ("durability", destination.durability != .strict),
      ("remote-name", destination.remoteName == true),
      ("keep-paths", destination.keepPaths == true),
      ("start-over", destination.startOver == true),
      ("max-filesize", destination.maxFilesize != nil),
      ("input-file", !content.inputFiles.isEmpty), ("columns", !content.columns.isEmpty),
      ("input-format", content.inputFormat != nil), ("glob", content.glob != nil),
      ("glob-limit", content.globLimit != nil), ("checksum", !content.checksums.isEmpty),
      ("checksum-file", !content.checksumFiles.isEmpty),
      ("checksum-from", content.checksumFrom != nil),
      ("ignore-missing", content.ignoreMissing != nil),
      ("allow-unverified", content.allowUnverified == true),
      ("same-resource", content.sameResource == true), ("decode", content.decode == true),
      ("connections", ranges.connections != nil), ("min-split", ranges.minimumSplit != nil),
      ("trust-redirects", !requests.trustedHosts.isEmpty),
    ]
  }

  private var ofRequests: [Option] {
    [
      ("if-exists", destination.ifExists != nil), ("limit-rate", queue.rateLimit != nil),
      ("user", credentials.user != nil), ("password-file", credentials.passwordFile != nil),
      ("bearer-file", credentials.bearerFile != nil),
      ("bearer-env", credentials.bearerEnv != nil), ("netrc", credentials.netrc == true),
      ("cookie", !credentials.cookies.isEmpty), ("cookie-file", !credentials.cookieFiles.isEmpty),
      ("header", !requests.headers.isEmpty), ("insecure", requests.insecure == true),
      ("retries", requests.retries != nil), ("retry-max-time", requests.retryMaximumTime != nil),
    ]
  }
}
