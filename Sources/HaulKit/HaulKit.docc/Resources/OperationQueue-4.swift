import HaulKit

let manager = try TransferManager()
manager.register(step: "unpack") { context in
  try context.checkpoint()
  print("unpacking \(context.input ?? "")")
}
manager.register(step: "tell") { _ in await MainActor.run { print("upgrade complete") } }

var download = try TransferRequest.download(
  ResourceURL("https://example.org/upgrade.tar"), to: .file("upgrade.tar"))
(download.identifier, download.group) = ("download", "network")
var unpack = TransferRequest.step("unpack", input: "upgrade.tar")
(unpack.identifier, unpack.group, unpack.after) = ("unpack", "local", ["download"])
var tell = TransferRequest.step("tell")
(tell.group, tell.after) = ("local", ["unpack"])
(unpack.whenDependencyFails, tell.whenDependencyFails) = (.skip, .skip)

try await manager.add([download, unpack, tell])
await manager.waitUntilEmpty()
await manager.shutdown()
