/// Command line options of the examples: `--name=value` or `--name value`, with `--help`.
///
/// Each option is declared where it is read, so the help text lists what the program really asked
/// for. Nothing exits or throws on the way: `done()` says at the end whether the program may go on.
#pragma once

#include <algorithm>
#include <charconv>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace example {

class options {
 public:
  options(int argc, char** argv, std::string what) : help_(std::move(what)) {
    help_ += "\n\n";
    for (int i = 1; i < argc; ++i) words_.emplace_back(argv[i]);
  }

  /// The number given for `--name`, which must lie in [low, high], else `value`.
  template <typename Number>
  Number number(std::string_view name, Number value, Number low, Number high,
                std::string_view text) {
    describe(name, text, value);
    const auto word = take(name);
    if (!word) return value;
    const char* const end = word->data() + word->size();
    Number read{};
    const auto [stop, failure] = std::from_chars(word->data(), end, read);
    if (failure != std::errc{} || stop != end || !(read >= low && read <= high)) {
      std::ostringstream message;
      message << "--" << name << "=" << *word << ": a number from " << low << " to " << high
              << " is needed";
      complaints_.push_back(message.str());
      return value;
    }
    return read;
  }

  /// What is left once every option has been read: the names of files, say.
  std::vector<std::string> rest(std::string_view text) {
    help_ += "  ...              " + std::string(text) + "\n";
    std::vector<std::string> result;
    std::erase_if(words_, [&](const std::string& word) {
      if (word.starts_with("-")) return false;
      result.push_back(word);
      return true;
    });
    return result;
  }

  /// To be called when all options are read. A value means: `main` returns it at once, because the
  /// user asked for `--help` (0) or gave something that makes no sense (2); either is explained.
  [[nodiscard]] std::optional<int> done() {
    if (std::ranges::count(words_, "--help") + std::ranges::count(words_, "-h") > 0) {
      std::cout << help_ << "  --help           this text\n"
                << "  --ray-help       the options of the runtime\n";
      return 0;
    }
    for (const auto& word : words_) complaints_.push_back(word + ": no such option");
    if (complaints_.empty()) return std::nullopt;
    for (const auto& complaint : complaints_) std::cerr << complaint << '\n';
    std::cerr << "Try --help.\n";
    return 2;
  }

 private:
  template <typename Value>
  void describe(std::string_view name, std::string_view text, const Value& value) {
    std::ostringstream line;
    std::string left = "  --" + std::string(name) + "=N";
    left.resize(std::max<std::size_t>(left.size() + 1, 19), ' ');
    line << left << text << " (" << value << ")\n";
    help_ += line.str();
  }

  std::optional<std::string> take(std::string_view name) {
    const std::string word = "--" + std::string(name);
    for (auto it = words_.begin(); it != words_.end(); ++it) {
      if (it->starts_with(word + "=")) {
        std::string value = it->substr(word.size() + 1);
        words_.erase(it);
        return value;
      }
      if (*it == word) {
        const auto next = it + 1;
        if (next == words_.end()) {
          words_.erase(it);
          return "";
        }
        std::string value = *next;
        words_.erase(it, next + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  std::string help_;
  std::vector<std::string> words_;
  std::vector<std::string> complaints_;
};

}  // namespace example
