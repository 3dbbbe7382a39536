extension UploadProtocol {
  static let tus = UploadProtocol(
    name: "tus", schemes: [("tus+", "")], namesFile: false, resuming: .always, leastRecorded: 0,
    machine: {
      TusMachine(
        $0.request, source: $0.source, extent: $0.extent, isAttended: $0.isAttended, now: $0.now)
    }, terminations: TusMachine.terminations)
}
