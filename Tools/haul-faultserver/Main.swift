import ArgumentParser

@main
struct FaultServerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "haul-faultserver",
    abstract: "An HTTP server on 127.0.0.1 that misbehaves exactly as its script says.",
    subcommands: [Serve.self, RelayCommand.self, Content.self, SHA256Digest.self])
}
