import ArgumentParser
import HaulControl

/// Where notices of ended transfers and groups go.
struct NoticeOptions: ParsableArguments {
  @Option(
    name: .customLong("notify"),
    help: ArgumentHelp(
      """
      Which ends to report: all, failures, groups (and transfers without a group), or none \
      (default: all).
      """, valueName: "WHICH"),
    completion: .list(NoticeSettings.Level.allCases.map(\.rawValue)))
  var level: NoticeSettings.Level?

  @Flag(
    name: .customLong("notify-sound"), inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Let the desktop play a sound (default: true).")
  var sound: Bool?

  @Option(
    help: ArgumentHelp("Post each notice to this address, as JSON.", valueName: "URL"))
  var webhook: String?

  @Option(
    help: ArgumentHelp(
      "The file whose first line is the secret that signs notices; only you may read it.",
      valueName: "FILE"),
    completion: .file())
  var webhookSecretFile: String?

  @Flag(
    inversion: .prefixedNo, exclusivity: .chooseLast,
    help: "Let the webhook be on this machine or in a private network.")
  var webhookPrivate: Bool?

  /// Only in the configuration file.
  @Option(name: .customLong(command), help: .hidden)
  var notifyCommand: [String] = []

  static let command = "notify-command"
}

extension NoticeSettings.Level: ExpressibleByArgument {}
