// Downloads a large file in parallel ranges. Asks the server for its length first, and shows
// percent, rate and remaining time. Run it again after an interruption: it resumes.
//
//   LargeFile URL FILE

import HaulKit

let arguments = CommandLine.arguments.dropFirst()
let url = try ResourceURL(arguments.first ?? "")
let file = arguments.dropFirst().first ?? "large-file"
try await withTransferManager { manager in
  let found = try await manager.probe(url)
  print(found.length.map { "\($0) bytes" } ?? "unknown length", "resumes: \(found.plan.resumes)")

  let result = try await manager.download(url, to: .file(file)) { progress in
    let percent = progress.percent.map { "\($0) %" } ?? "\(progress.bytes) bytes"
    let left = progress.secondsLeft.map { "\(Int($0)) s left" } ?? ""
    print(percent, "\(Int(progress.rate)) bytes/s", "\(progress.connections) connections", left)
  }
  print("\(result.bytes) bytes in \(file), \(result.reused) of them from an earlier run")
}
