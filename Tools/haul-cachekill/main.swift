import FoundationEssentials
import HaulCache
import HaulCore
import HaulLibC

// haul-cachekill DIRECTORY LIMIT SEED: stores and reads blobs until it is killed. Each body can be
// computed from its head, so that a test sees whether it is whole. Before each call that stores or
// reads, it writes a byte to standard output.

let arguments = CommandLine.arguments
guard arguments.count == 4, let limit = Int64(arguments[2]), var seed = UInt64(arguments[3]) else {
  print("usage: haul-cachekill DIRECTORY LIMIT SEED")
  exit(2)
}
let store = DiskStore(
  directory: arguments[1], limit: limit, maximumAge: 1e9, patience: .seconds(30))

func next(_ bound: UInt64) -> UInt64 {
  seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
  return (seed >> 33) % bound
}

var time: Double = 1
while true {
  time += 1
  let number = Int(next(50))
  guard write(STDOUT_FILENO, ".", 1) == 1 else { exit(1) }
  let resource = "resource-\(number)"
  if next(4) == 0 {
    _ = try store.find(resource, at: time) { _, _ in true }
    continue
  }
  let representation = next(1 << 20)
  let head = BlobHead(
    resource: resource, address: "http://example.com/\(number)", vary: [], selection: "",
    representation: representation,
    response: StoredResponse(
      status: 200, headers: HeaderFields(), requestedAt: time, answeredAt: time))
  let body = Data(repeating: UInt8(representation % 251), count: Int(representation % 60_000))
  try store.store(Blob(head: head, body: body), at: time)
}
