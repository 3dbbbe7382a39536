extension UploadProtocol {
  static let tus = UploadProtocol(
    name: "tus", schemes: [("tus+", "")], namesFile: false, resuming: .always, leastRecorded: 0,
    machine: TusMachine.init, terminations: TusMachine.terminations)
}
