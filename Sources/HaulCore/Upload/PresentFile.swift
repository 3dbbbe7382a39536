/// A file that the server has, and that an upload leaves there.
package struct PresentFile: Sendable, Hashable {
  /// In bytes; nil if it is not known.
  package var length: Int64?
  /// What shows that it is the file of this machine; nil if that was not asked.
  package var proof: TransferResult.Verification?
  /// The digests that do.
  package var checksums: [Checksum] = []

  package init(
    length: Int64?, _ proof: TransferResult.Verification? = nil, checksums: [Checksum] = []
  ) {
    (self.length, self.proof, self.checksums) = (length, proof, checksums)
  }
}

extension UploadRequest {
  /// Whether the server is asked what it has, and the file sent only under a condition or not at
  /// all.
  var asksForExisting: Bool { ifExists != .overwrite && !isDirectory }

  /// - Throws: `not-yet-supported` for what cannot be compared with a file of the server.
  package func checkIfExists() throws(TransferError) {
    guard ifExists != .overwrite else { return }
    guard method.uploadProtocol.namesFile, form.isEmpty else {
      throw TransferError(
        .notYetSupported,
        "by \(method.uploadProtocol.name) the server decides what becomes of the file, so nothing "
          + "says which file it would replace",
        advice: "skip and update are for PUT, S3 and WebDAV")
    }
    guard precondition == .none else {
      throw TransferError(.notYetSupported, "skip and update exclude a precondition")
    }
  }
}
