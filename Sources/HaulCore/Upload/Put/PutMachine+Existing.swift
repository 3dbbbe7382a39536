/// `--if-exists skip` and `update` by PUT. A digest that the server states decides; without one,
/// the length and the date do; an entity tag may be the MD5.
extension PutMachine {
  /// What becomes of a file that the server has; nil if this one is sent.
  /// - Parameter isLater: whether it was stored after the file here changed last.
  mutating func existing(_ head: ResponseHead, isLater: Bool) -> [UploadCommand]? {
    let content = StoredContent(head, of: request)
    // A page, a server that tells no length: it need not be a file.
    guard let found = content.length else { return nil }
    guard request.ifExists == .update else {
      return keepUnlessOwn(content)
    }
    guard form == nil, request.download == nil, found == length else { return nil }
    if content.digests.isEmpty, isLater {
      state = .confirming(PresentFile(length: found, .length))
      return [.checkSource]
    }
    let commands = digest(for: content)
    if commands != nil { state = .comparingExisting(content) }
    return commands
  }

  /// The file here was read.
  mutating func comparedExisting(
    _ content: StoredContent, with digests: [Checksum]
  ) -> [UploadCommand] {
    guard content.isEqual(to: digests, length: length) == true else { return proceed() }
    state = .confirming(
      PresentFile(length: content.length, .checksum, checksums: content.equal(to: digests)))
    return [.checkSource]
  }

  /// Leaves the file there, unless an earlier attempt may have left a part of the file there; nil
  /// if nothing is known to be there.
  mutating func keepUnlessOwn(_ content: StoredContent) -> [UploadCommand]? {
    guard let found = content.length else { return nil }
    let mayBePart = attempts.mayHaveArrived || sendings > 1
    guard mayBePart, found != length else { return keep(PresentFile(length: found)) }
    return end(conflict(412))
  }

  mutating func keep(_ file: PresentFile) -> [UploadCommand] {
    [.reportPresent(file)] + finish(.completed)
  }
}

extension TransferError {
  /// The same, of a file that the server has with a newer date than the one here.
  var leavingNewer: TransferError {
    advising("replace what the server has of it: its date there is later, so update may keep it")
  }
}
