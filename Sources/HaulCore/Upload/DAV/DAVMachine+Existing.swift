/// `--if-exists skip` and `update` by WebDAV. The properties of a file are its length and date; a
/// digest is not among them.
extension DAVMachine {
  /// What becomes of the file that the server has; nil if this one is sent.
  mutating func existing(
    _ file: PresentFile, modified: String?, in answer: UploadAnswer
  ) -> [UploadCommand]? {
    switch request.ifExists {
    case .overwrite: return nil
    case .skip: return keepUnlessOwn(file)
    case .update:
      let date = StoredDate(modified, in: answer, elapsed: attempts.now - askedAt)
      guard !isStream, request.download == nil, let length, file.length == length, let changed,
        let date, date.isLater(than: changed)
      else { return nil }
      state = .confirming(PresentFile(length: length, .length))
      return [.checkSource]
    }
  }

  /// The same, if HEAD is all that the server answers. A page is no file.
  mutating func existing(byHead answer: UploadAnswer) -> [UploadCommand]? {
    guard let length = StoredLength.head(answer.head, of: request) else { return nil }
    return existing(
      PresentFile(length: length), modified: answer.head.headers["Last-Modified"], in: answer)
  }

  /// Leaves the file there, unless an earlier attempt may have left a part of the file there.
  mutating func keepUnlessOwn(_ file: PresentFile) -> [UploadCommand] {
    let mayBePart = hasRun || attempts.mayHaveArrived || mayHaveMoved
    return mayBePart && file.length != length ? compare() : keep(file)
  }

  mutating func keep(_ file: PresentFile) -> [UploadCommand] {
    [.reportPresent(file)] + end(.completed)
  }
}
