/// Whether two requests say to do the same.
extension TransferRequest {
  /// What differs in this one, for a person; nil if the other says to do the same. Options that
  /// only change when and how fast it runs do not count, but for the times of a repetition.
  package func difference(from other: TransferRequest) -> String? {
    guard kind == other.kind else { return "another kind of work" }
    if let url, let address = other.url, url != address {
      return url.absoluteString.isByteEqual(address.absoluteString)
        ? "another user name or password" : "another address, \(url.redacted)"
    }
    if download?.destination != other.download?.destination
      || upload?.source.files != other.upload?.source.files
    {
      return "another file"
    }
    if download?.checksums != other.download?.checksums { return "other checksums" }
    if headers != other.headers { return "other header fields" }
    if group != other.group { return "another group" }
    if let times = other.repetition, !times.isSame(as: repetition) {
      return "other times, \(repetition?.text ?? "once")"
    }
    if settled == other.settled { return nil }
    return kind == .step ? "another program" : "other options"
  }

  /// The work, without the options that do not count, and without what the process that adds it
  /// sets by itself.
  private var settled: Work {
    var request = self
    request.rateLimit = nil
    request.roots = nil
    if var download = request.download {
      download.creationMask = nil
      (download.connections, download.minimumSplit, download.retry) = (1, 1, RetryPolicy())
      request.work = .download(download)
    }
    if var upload = request.upload {
      (upload.listed, upload.listedIn, upload.retry) = (nil, nil, RetryPolicy())
      request.work = .upload(upload)
    }
    return request.work
  }
}
