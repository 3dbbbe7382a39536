import HaulCLI

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@main
@MainActor
enum Main {
  static func main() async {
    exit(await HaulProgram.run(Array(CommandLine.arguments.dropFirst())))
  }
}
