extension UploadProtocol {
  static let webDAV = UploadProtocol(
    name: "WebDAV",
    schemes: [("dav+", ""), ("dav://", "http://"), ("davs://", "https://")],
    canRequireAbsence: true, makesDirectories: true, asksBeforeReading: true,
    needsReplyBody: true, leastRecorded: 0, recordsStreams: true,
    machine: DAVMachine.init, terminations: DAVMachine.terminations)
}
