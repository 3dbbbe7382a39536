// Downloads an archive, unpacks it, then reports on the main actor that the upgrade is complete.
// Each waits for the one before. They are in two groups, which does not matter to a dependency.
//
//   InstallChain DIRECTORY URL

import FoundationEssentials
import HaulKit

let arguments = CommandLine.arguments.dropFirst()
let (directory, address) = (arguments.first ?? ".", arguments.dropFirst().first ?? "")
let archive = "\(directory)/archive"
let manager = try TransferManager()
manager.register(step: "unpack") { step in
  let lines = try Data(contentsOf: URL(filePath: archive)).split(separator: UInt8(ascii: "\n"))
  for (index, line) in lines.enumerated() {
    try step.checkpoint()  // throws when the step was paused or cancelled
    try Data(line).write(to: URL(filePath: "\(directory)/part-\(index + 1)"))
    step.progress(Int64(index + 1), of: Int64(lines.count))
  }
}
manager.register(step: "report") { _ in await MainActor.run { print("upgrade complete") } }

var download = try TransferRequest.download(ResourceURL(address), to: .file(archive)) {
  $0.ifExists = .overwrite
}
(download.identifier, download.group) = ("download", "network")
var unpack = TransferRequest.step("unpack")
(unpack.identifier, unpack.group, unpack.after) = ("unpack", "local", ["download"])
var report = TransferRequest.step("report")
(report.group, report.after) = ("local", ["unpack"])
let added = try await manager.add([download, unpack, report])
do {
  for transfer in added { _ = try await transfer.result }
} catch { print("not upgraded: \(error.message)") }
await manager.shutdown()
