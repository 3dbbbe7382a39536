import HaulLibC

/// One parser, and what must hold for whatever it is given. What is refused has no properties.
struct Target: Sendable {
  let name: String
  let run: @Sendable (Input) -> Void
}

/// What the fuzzer made up.
struct Input {
  let bytes: [UInt8]

  /// As text; what is not UTF-8 becomes U+FFFD, as it does when a header arrives.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// In pieces, at the bytes that no text has.
  var parts: [String] {
    bytes.split(separator: 0xFF, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

/// Ends the process, for the fuzzer to keep the input, when something does not hold.
func expect(
  _ holds: @autoclosure () -> Bool, _ what: @autoclosure () -> String, line: Int = #line,
  file: String = #fileID
) {
  if holds() { return }
  let message = "\(file):\(line): violated: \(what())\n"
  _ = write(2, message, message.utf8.count)
  abort()
}

let targets =
  headerTargets + framingTargets + nameTargets + networkTargets + fileTargets + optionTargets
  + journalTargets + storeTargets + textTargets + sessionTargets

/// By `HAUL_FUZZ_TARGET`; without it, the names are listed.
private let chosen: Target = {
  let wanted = getenv("HAUL_FUZZ_TARGET").map { String(cString: $0) }
  if let target = targets.first(where: { $0.name == wanted }) { return target }
  for target in targets { print(target.name) }
  fflush(nil)
  _exit(wanted == nil ? 0 : 2)
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  chosen.run(Input(bytes: Array(UnsafeBufferPointer(start: start, count: count))))
  return 0
}

// The package manager gives each program's main this name, so libFuzzer's own is not there.

private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<Arguments?>,
  _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Runs libFuzzer with the program's arguments.
@_cdecl("haul_fuzz_main")
public func fuzzMain(
  _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  var (count, arguments) = (count, arguments)
  return runDriver(&count, &arguments) { fuzzOne($0, $1) }
}
