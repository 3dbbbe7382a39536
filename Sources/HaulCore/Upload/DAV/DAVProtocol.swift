extension UploadProtocol {
  static let webDAV = UploadProtocol(
    name: "WebDAV",
    schemes: [("dav+", ""), ("dav://", "http://"), ("davs://", "https://")],
    canRequireAbsence: true, makesDirectories: true, asksBeforeReading: true,
    needsReplyBody: true, leastRecorded: 0, recordsStreams: true,
    machine: {
      DAVMachine(
        $0.request, source: $0.source, isStream: !$0.extent.isWhole, isAttended: $0.isAttended,
        now: $0.now)
    }, terminations: DAVMachine.terminations)
}
