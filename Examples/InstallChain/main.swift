// Downloads an archive, unpacks it, then says on the main actor that the upgrade is complete: three
// members in two groups, each after the one before. When one does not complete, those behind it
// wait, and go on when it is tried again.
//
//   InstallChain DIRECTORY URL

import FoundationEssentials
import HaulKit

let words = CommandLine.arguments.dropFirst()
guard let directory = words.first, let address = words.dropFirst().first else {
  print("usage: InstallChain DIRECTORY URL")
  throw CancellationError()
}
let manager = try TransferManager()
let archive = "\(directory)/archive"

await manager.register(step: "unpack") { context in
  let lines = try Data(contentsOf: URL(filePath: archive)).split(separator: UInt8(ascii: "\n"))
  for (number, line) in lines.enumerated() {
    // A pause or a cancel comes here, between two files.
    try context.checkpoint()
    try Data(line).write(to: URL(filePath: "\(directory)/part-\(number + 1)"))
    context.progress(Int64(number + 1), of: Int64(lines.count))
  }
}
await manager.register(step: "tell") { _ in await MainActor.run { print("upgrade complete") } }

var download = try TransferRequest.download(ResourceURL(address), to: .file(archive)) {
  $0.ifExists = .overwrite
}
download.identifier = "download"
download.group = "network"
var unpack = TransferRequest.step("unpack")
unpack.identifier = "unpack"
unpack.group = "local"
unpack.after = [.identifier("download")]
var tell = TransferRequest.step("tell")
tell.group = "local"
tell.after = [.identifier("unpack")]

let added = try await manager.add([download, unpack, tell])
do {
  for transfer in added { _ = try await transfer.result }
} catch {
  print("not upgraded: \(error.message)")
}
await manager.shutdown()
